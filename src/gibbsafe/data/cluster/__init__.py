"""Records on a Dask cluster: workers encode and keep them, and only sums travel (`gibbsafe[dask]`).

The whole cluster is inside the trust boundary: partial sums are raw data, and so is what workers spill to their disks. This is
not federated learning, where those who hold records do not trust whoever adds them up (docs/scale.md).

`tasks.py` is what workers run: pure functions that send refusals back as values; `crews.py` reaches a cluster or refuses it, and
waits for it; `tables.py` says what its workers read; `encoding.py` has records encoded, capped and cut into runs of chunks;
`blocks.py` is what samplers see of them.
"""
