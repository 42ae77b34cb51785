from typing import Any

import numpy as np
import numpy.typing as npt

exp: np.ufunc
logistic_slope: np.ufunc

def logistic_sums(
    rows: npt.NDArray[Any],
    theta: npt.NDArray[np.float64],
    block: int,
    chunk: int,
    centre: float = ...,
    width: float = ...,
    /,
) -> npt.NDArray[np.float64]: ...
def calibrated_sums(
    rows: npt.NDArray[Any],
    theta: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
    block: int,
    chunk: int,
    clip: float,
    /,
) -> npt.NDArray[np.float64]: ...
