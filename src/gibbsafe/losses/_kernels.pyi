import numpy as np
import numpy.typing as npt

exp: np.ufunc
logistic_slope: np.ufunc

def logistic_gradient(
    rows: npt.NDArray[np.float64], theta: npt.NDArray[np.float64], centre: float = ..., width: float = ..., /
) -> npt.NDArray[np.float64]: ...
def calibrated_gradient(
    rows: npt.NDArray[np.float64], theta: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], clip: float, /
) -> npt.NDArray[np.float64]: ...
