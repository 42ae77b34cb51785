/* What a pass over the records spends its time on, in a form that compilers turn into vector instructions: e^x and -1/(1 + e^x)
   of float64 arrays as NumPy ufuncs, and the gradients of the logistic and of the calibrated loss over a block of rows.

   NumPy's exp takes one number at a time on processors without AVX-512. Here exp(x) = 2^k e^r with k = round(x / log 2) and
   |r| <= log(2)/2. Adding 1.5 * 2^52 rounds to a whole number and leaves k in the low bits of the sum, so no step needs a table, a
   branch or a conversion. The Taylor polynomial of degree 13 leaves out less than 5e-18 of e^r; with the roundings the error stays
   below 2 units in the last place (tests).

   Results below 2^-1021 are 0 and results above the largest double are infinite, both without a warning; NaN stays NaN. */

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <fenv.h>
#include <math.h>
#include <numpy/ndarrayobject.h>
#include <numpy/ufuncobject.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

static const double LOWEST = -707.7;            /* just above -1021 log 2 */
static const double HIGHEST = 709.782712893384; /* the largest double below 1024 log 2 */
static const double PER_LOG_2 = 1.4426950408889634;
static const double LOG_2_HIGH = 0x1.62e42feep-1; /* log 2 in two parts; multiples of the first up to 2^11 are exact */
static const double LOG_2_LOW = 0x1.a39ef35793c76p-33;
static const double TO_WHOLE = 0x1.8p52;

static inline double exponential(double given)
{
    double x = given < LOWEST ? LOWEST : given;
    x = x > HIGHEST ? HIGHEST : x;
    double shifted = x * PER_LOG_2 + TO_WHOLE;
    double k = shifted - TO_WHOLE;
    double r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = 1.0 + (r + r * r * p);

    uint64_t power, result;
    memcpy(&power, &shifted, sizeof power);
    memcpy(&result, &p, sizeof result);
    result += power << 52; /* k added to the exponent of p; its higher bits fall off */
    memcpy(&p, &result, sizeof p);

    p = given < LOWEST ? 0.0 : p;
    p = given > HIGHEST ? (double)INFINITY : p;
    return given != given ? given : p;
}

static inline double slope(double x)
{
    return -1.0 / (1.0 + exponential(x));
}

/* One ufunc per function. Where input and output are the same array each element is read before it is written, and NumPy copies
   any other overlap, so iterations never depend on one another. Flags are cleared: limits are answers here, not warnings. */
#define UFUNC(name, function)                                                                                                \
    FOR_EACH_PROCESSOR static void name##_together(const double *in, double *out, npy_intp n)                                \
    {                                                                                                                        \
        _Pragma("GCC ivdep") for (npy_intp i = 0; i < n; i++) out[i] = function(in[i]);                                      \
    }                                                                                                                        \
    static void name##_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *unused)                    \
    {                                                                                                                        \
        (void)unused;                                                                                                        \
        if (steps[0] == sizeof(double) && steps[1] == sizeof(double)) {                                                      \
            name##_together((const double *)args[0], (double *)args[1], dimensions[0]);                                      \
        } else {                                                                                                             \
            for (npy_intp i = 0; i < dimensions[0]; i++) {                                                                   \
                name##_together((const double *)(args[0] + i * steps[0]), (double *)(args[1] + i * steps[1]), 1);            \
            }                                                                                                                \
        }                                                                                                                    \
        feclearexcept(FE_ALL_EXCEPT);                                                                                        \
    }                                                                                                                        \
    static PyUFuncGenericFunction name##_loops[] = {name##_loop};

UFUNC(exp, exponential)
UFUNC(logistic_slope, slope)

/* Rows of a tile are read from memory once: products forward, slopes, products backward while they are in the first cache. */
enum { TILE = 32 };

/* Row i of a tile times theta. */
static inline void products(const double *tile, const double *theta, double *results, int count, npy_intp d)
{
    for (int i = 0; i < count; i++) {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (npy_intp j = 0; j < d; j++) sum += tile[i * d + j] * theta[j];
        results[i] = sum;
    }
}

/* Add slopes[i] times row i of a tile to the total. */
static inline void add_back(const double *tile, const double *slopes, double *total, int count, npy_intp d)
{
    int i = 0;
    for (; i + 4 <= count; i += 4) { /* four rows for one visit to the total */
        const double *a = tile + i * d, *b = a + d, *c = b + d, *e = c + d;
        const double *s = slopes + i;
#pragma GCC ivdep
        for (npy_intp j = 0; j < d; j++) total[j] += (s[0] * a[j] + s[1] * b[j]) + (s[2] * c[j] + s[3] * e[j]);
    }
    for (; i < count; i++) {
#pragma GCC ivdep
        for (npy_intp j = 0; j < d; j++) total[j] += slopes[i] * tile[i * d + j];
    }
}

FOR_EACH_PROCESSOR static void add_logistic(const double *rows, const double *theta, const double *counts, double *total,
                                            npy_intp n, npy_intp d, const double *constants)
{
    double centre = constants[0], width = constants[1], slopes[TILE];
    (void)counts;
    for (npy_intp start = 0; start < n; start += TILE) {
        const double *tile = rows + start * d;
        int count = n - start < TILE ? (int)(n - start) : TILE;
        products(tile, theta, slopes, count, d);
#pragma GCC ivdep
        for (int i = 0; i < count; i++) slopes[i] = slope((slopes[i] - centre) / width);
        add_back(tile, slopes, total, count, d);
    }
}

/* Slopes of the calibrated loss, each row as often as it counts: see calibrated.py. */
FOR_EACH_PROCESSOR static void add_calibrated(const double *rows, const double *theta, const double *counts, double *total,
                                              npy_intp n, npy_intp d, const double *constants)
{
    double clip = constants[0], slopes[TILE];
    for (npy_intp start = 0; start < n; start += TILE) {
        const double *tile = rows + start * d;
        int count = n - start < TILE ? (int)(n - start) : TILE;
        products(tile, theta, slopes, count, d);
#pragma GCC ivdep
        for (int i = 0; i < count; i++) {
            double u = slopes[i], e = exponential(-fabs(u));
            double size = 1.0 / (clip * (1.0 + e));
            size = (size > 1.0 ? 1.0 : size) * (u > 0.0 ? e : 1.0);
            slopes[i] = -size * counts[start + i];
        }
        add_back(tile, slopes, total, count, d);
    }
}

typedef void (*adder)(const double *rows, const double *theta, const double *counts, double *total, npy_intp n, npy_intp d,
                      const double *constants);

/* A sum over the rows of an (n, d) array, without the interpreter's lock. */
static PyObject *summed(adder add, PyObject *given_rows, PyObject *given_theta, PyObject *given_counts, const double *constants)
{
    PyObject *total = NULL;
    PyArrayObject *counts = NULL;
    PyArrayObject *rows = (PyArrayObject *)PyArray_FROM_OTF(given_rows, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
    PyArrayObject *theta = (PyArrayObject *)PyArray_FROM_OTF(given_theta, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
    if (rows == NULL || theta == NULL) goto done;
    if (PyArray_NDIM(rows) != 2 || PyArray_NDIM(theta) != 1 || PyArray_DIM(rows, 1) != PyArray_DIM(theta, 0)) {
        PyErr_SetString(PyExc_ValueError, "rows and theta: must have shapes (n, d) and (d,)");
        goto done;
    }
    if (given_counts != Py_None) {
        counts = (PyArrayObject *)PyArray_FROM_OTF(given_counts, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
        if (counts == NULL) goto done;
        if (PyArray_NDIM(counts) != 1 || PyArray_DIM(counts, 0) != PyArray_DIM(rows, 0)) {
            PyErr_SetString(PyExc_ValueError, "counts: must have shape (n,)");
            goto done;
        }
    }
    total = PyArray_ZEROS(1, PyArray_DIMS(theta), NPY_DOUBLE, 0);
    if (total == NULL) goto done;
    const double *in = PyArray_DATA(rows), *at = PyArray_DATA(theta), *times = counts == NULL ? NULL : PyArray_DATA(counts);
    double *out = PyArray_DATA((PyArrayObject *)total);
    npy_intp n = PyArray_DIM(rows, 0), d = PyArray_DIM(rows, 1);
    Py_BEGIN_ALLOW_THREADS
    add(in, at, times, out, n, d, constants);
    feclearexcept(FE_ALL_EXCEPT);
    Py_END_ALLOW_THREADS
done:
    Py_XDECREF(rows);
    Py_XDECREF(theta);
    Py_XDECREF(counts);
    return total;
}

static PyObject *logistic_gradient(PyObject *module, PyObject *args)
{
    PyObject *rows, *theta;
    double constants[2] = {0.0, 1.0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OO|dd", &rows, &theta, &constants[0], &constants[1])) return NULL;
    return summed(add_logistic, rows, theta, Py_None, constants);
}

static PyObject *calibrated_gradient(PyObject *module, PyObject *args)
{
    PyObject *rows, *theta, *counts;
    double clip;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOd", &rows, &theta, &counts, &clip)) return NULL;
    if (counts == Py_None) {
        PyErr_SetString(PyExc_ValueError, "counts: must be an array of shape (n,), not None");
        return NULL;
    }
    return summed(add_calibrated, rows, theta, counts, &clip);
}

static PyMethodDef methods[] = {
    {"logistic_gradient", logistic_gradient, METH_VARARGS,
     "Sum of -z/(1 + exp((z . theta - centre)/width)) over the rows z of an (n, d) array."},
    {"calibrated_gradient", calibrated_gradient, METH_VARARGS,
     "Sum of the scores of the calibrated loss over the rows z of an (n, d) array, each as often as it counts."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};
static const char types[] = {NPY_DOUBLE, NPY_DOUBLE};
static void *const no_data[] = {NULL};

static int add_ufunc(PyObject *module, const char *name, PyUFuncGenericFunction *loops, const char *documentation)
{
    PyObject *ufunc = PyUFunc_FromFuncAndData(loops, (void **)no_data, (char *)types, 1, 1, 1, PyUFunc_None, name, documentation, 0);
    int failed = ufunc == NULL || PyModule_AddObjectRef(module, name, ufunc) < 0;
    Py_XDECREF(ufunc);
    return failed;
}

PyMODINIT_FUNC PyInit__kernels(void)
{
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (add_ufunc(module, "exp", exp_loops, "e^x of float64 numbers.") ||
        add_ufunc(module, "logistic_slope", logistic_slope_loops, "-1/(1 + e^x) of float64 numbers.")) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
