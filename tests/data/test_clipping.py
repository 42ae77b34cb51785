"""What the curator is told about a table: counted by hand here."""

import pyarrow as pa

from gibbsafe.data.clipping import count_clipped
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.domains.column import Column


def test_what_is_clipped_missing_or_undeclared_is_counted():
    table = pa.table({"age": [1.0, None, 99.0, -5.0], "ward": ["a", "b", "z", None], "sex": ["f", "m", "f", "m"]})
    columns = (
        Column("age", bounds=(0.0, 50.0)),
        Column("ward", "category", levels=("a", "b")),
        Column("sex", "category", levels=("f", "m")),
    )
    told = count_clipped(DeclaredTable(table, raw=columns, prepared=()))
    assert told == {
        "age": "2 clipped, 1 missing of 4 rows",
        "ward": "1 missing, 1 undeclared of 4 rows",
        "sex": "nothing changed of 4 rows",
    }
