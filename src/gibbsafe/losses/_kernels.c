/* What a pass over the records spends its time on, in a form that compilers turn into vector instructions: e^x and -1/(1 + e^x)
   of float64 arrays as NumPy ufuncs, and sums of gradients of the logistic and of the calibrated loss over
   chunks of rows.

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

/* Float32 rows are widened a tile at a time. */
static inline void widen(const float *rows, double *tile, npy_intp numbers)
{
#pragma GCC ivdep
    for (npy_intp k = 0; k < numbers; k++) tile[k] = rows[k];
}

/* As `products` and `add_back`, of four rows at a time and up to the next multiple of FOUR columns, so that loops have no remainder:
   theta is 0 there, the total is not read there, and what stands there in a tile is of the next row, or 0, and finite. */
enum { FOUR = 4 };

static inline void padded_products(const double *tile, const double *theta, double *results, int count, npy_intp d, npy_intp fours)
{
    for (int i = 0; i < count; i += FOUR) {
        const double *a = tile + i * d, *b = a + d, *c = b + d, *e = c + d;
        double p = 0.0, q = 0.0, r = 0.0, s = 0.0;
#pragma omp simd reduction(+ : p, q, r, s)
        for (npy_intp j = 0; j < FOUR * fours; j++) {
            p += a[j] * theta[j];
            q += b[j] * theta[j];
            r += c[j] * theta[j];
            s += e[j] * theta[j];
        }
        results[i] = p, results[i + 1] = q, results[i + 2] = r, results[i + 3] = s;
    }
}

static inline void padded_add_back(const double *tile, const double *slopes, double *total, int count, npy_intp d, npy_intp fours)
{
    for (int i = 0; i < count; i += FOUR) {
        const double *a = tile + i * d, *b = a + d, *c = b + d, *e = c + d;
        const double *s = slopes + i;
#pragma GCC ivdep
        for (npy_intp j = 0; j < FOUR * fours; j++) total[j] += (s[0] * a[j] + s[1] * b[j]) + (s[2] * c[j] + s[3] * e[j]);
    }
}

static inline double calibrated_slope(double u, double clip)
{
    double e = exponential(-fabs(u));
    double size = 1.0 / (clip * (1.0 + e));
    return -(size > 1.0 ? 1.0 : size) * (u > 0.0 ? e : 1.0);
}

/* A sum over rows: of float64, or of float32 that are widened into a tile; theta and the
   total have `stride` numbers, d or the next multiple of FOUR. */
typedef struct {
    const double *wide;
    const float *narrow;
    const double *theta, *counts;
    double *tile;
    npy_intp d, stride;
    double constants[2];
} Sum;

FOR_EACH_PROCESSOR static void add_logistic(const Sum *sum, double *total, npy_intp first, npy_intp stop)
{
    double centre = sum->constants[0], width = sum->constants[1], slopes[TILE];
    npy_intp d = sum->d;
    for (npy_intp start = first; start < stop; start += TILE) {
        int count = stop - start < TILE ? (int)(stop - start) : TILE;
        const double *tile = sum->tile;
        if (sum->narrow != NULL) {
            widen(sum->narrow + start * d, sum->tile, count * d);
        } else {
            tile = sum->wide + start * d;
        }
        products(tile, sum->theta, slopes, count, d);
#pragma GCC ivdep
        for (int i = 0; i < count; i++) slopes[i] = slope((slopes[i] - centre) / width);
        add_back(tile, slopes, total, count, d);
    }
}

/* Slopes of the calibrated loss, each row as often as it counts: see calibrated.py. */
FOR_EACH_PROCESSOR static void add_calibrated(const Sum *sum, double *total, npy_intp first, npy_intp stop)
{
    double clip = sum->constants[0], slopes[TILE];
    npy_intp d = sum->d;
    for (npy_intp start = first; start < stop; start += TILE) {
        const double *tile = sum->wide + start * d;
        int count = stop - start < TILE ? (int)(stop - start) : TILE;
        products(tile, sum->theta, slopes, count, d);
#pragma GCC ivdep
        for (int i = 0; i < count; i++) slopes[i] = calibrated_slope(slopes[i], clip) * sum->counts[start + i];
        add_back(tile, slopes, total, count, d);
    }
}

FOR_EACH_PROCESSOR static void add_narrow_calibrated(const Sum *sum, double *total, npy_intp first, npy_intp stop)
{
    double clip = sum->constants[0], slopes[TILE];
    npy_intp d = sum->d, fours = sum->stride / FOUR;
    for (npy_intp start = first; start < stop; start += TILE) {
        int count = stop - start < TILE ? (int)(stop - start) : TILE;
        int up = (count + FOUR - 1) / FOUR * FOUR;
        widen(sum->narrow + start * d, sum->tile, count * d);
        padded_products(sum->tile, sum->theta, slopes, up, d, fours);
#pragma GCC ivdep
        for (int i = 0; i < count; i++) slopes[i] = calibrated_slope(slopes[i], clip) * sum->counts[start + i];
        for (int i = count; i < up; i++) slopes[i] = 0.0;
        padded_add_back(sum->tile, slopes, total, up, d, fours);
    }
}

typedef void (*adder)(const Sum *sum, double *total, npy_intp first, npy_intp stop);

/* The sum of every chunk of rows: blocks from left to right, each summed by itself. */
static void sum_chunks(adder add, const Sum *sum, double *part, double *out, npy_intp n, npy_intp block, npy_intp chunk)
{
    for (npy_intp first = 0; first == 0 || first < n; first += chunk, out += sum->d) {
        npy_intp stop = n - first < chunk ? n : first + chunk;
        memset(out, 0, sum->d * sizeof(double));
        for (npy_intp start = first; start < stop; start += block) {
            memset(part, 0, sum->stride * sizeof(double));
            add(sum, part, start, stop - start < block ? stop : start + block);
            if (start == first) {
                memcpy(out, part, sum->d * sizeof(double));
            } else {
                for (npy_intp j = 0; j < sum->d; j++) out[j] += part[j];
            }
        }
    }
}

static PyArrayObject *as_doubles(PyObject *given)
{
    return (PyArrayObject *)PyArray_FROM_OTF(given, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
}

/* Sums (chunks, d) over the rows of an (n, d) array of float64 or float32, without the interpreter's lock. */
static PyObject *summed(adder add, adder add_narrow, npy_intp lanes, PyObject *given_rows, PyObject *given_theta,
                        PyObject *given_counts, const double *constants, npy_intp block, npy_intp chunk)
{
    PyObject *total = NULL;
    PyArrayObject *counts = NULL, *theta = NULL, *rows = NULL;
    double *scratch = NULL;
    int narrow = PyArray_Check(given_rows) && PyArray_TYPE((PyArrayObject *)given_rows) == NPY_FLOAT;
    rows = (PyArrayObject *)PyArray_FROM_OTF(given_rows, narrow ? NPY_FLOAT : NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
    theta = as_doubles(given_theta);
    if (rows == NULL || theta == NULL) goto done;
    if (PyArray_NDIM(rows) != 2 || PyArray_NDIM(theta) != 1 || PyArray_DIM(rows, 1) != PyArray_DIM(theta, 0)) {
        PyErr_SetString(PyExc_ValueError, "rows and theta: must have shapes (n, d) and (d,)");
        goto done;
    }
    if (block < 1 || chunk < 1) {
        PyErr_SetString(PyExc_ValueError, "block and chunk: must be at least 1");
        goto done;
    }
    if (chunk > PyArray_DIM(rows, 0)) chunk = PyArray_DIM(rows, 0) > 0 ? PyArray_DIM(rows, 0) : 1; /* no sum of them overflows */
    if (block > chunk) block = chunk;
    if (given_counts != Py_None) {
        counts = as_doubles(given_counts);
        if (counts == NULL) goto done;
        if (PyArray_NDIM(counts) != 1 || PyArray_DIM(counts, 0) != PyArray_DIM(rows, 0)) {
            PyErr_SetString(PyExc_ValueError, "counts: must have shape (n,)");
            goto done;
        }
    }
    npy_intp n = PyArray_DIM(rows, 0), d = PyArray_DIM(rows, 1);
    npy_intp stride = narrow ? (d + lanes - 1) / lanes * lanes : d;
    npy_intp shape[2] = {n == 0 ? 1 : (n - 1) / chunk + 1, d};
    total = PyArray_ZEROS(2, shape, NPY_DOUBLE, 0);
    scratch = PyMem_Calloc((size_t)stride * (TILE + 2) + 8, sizeof(double)); /* a tile, theta and a block's sum */
    if (total == NULL || scratch == NULL) {
        Py_CLEAR(total);
        if (scratch == NULL) PyErr_NoMemory();
        goto done;
    }
    double *aligned = scratch + (64 - (uintptr_t)scratch % 64) % 64 / sizeof(double);
    Sum sum = {.tile = aligned, .d = d, .stride = stride, .constants = {constants[0], constants[1]}};
    double *padded = aligned + stride * TILE, *part = padded + stride;
    memcpy(padded, PyArray_DATA(theta), d * sizeof(double));
    sum.theta = padded;
    sum.counts = counts == NULL ? NULL : PyArray_DATA(counts);
    if (narrow) {
        sum.narrow = PyArray_DATA(rows);
    } else {
        sum.wide = PyArray_DATA(rows);
    }
    double *out = PyArray_DATA((PyArrayObject *)total);
    Py_BEGIN_ALLOW_THREADS
    sum_chunks(narrow ? add_narrow : add, &sum, part, out, n, block, chunk);
    feclearexcept(FE_ALL_EXCEPT);
    Py_END_ALLOW_THREADS
done:
    PyMem_Free(scratch);
    Py_XDECREF(rows);
    Py_XDECREF(theta);
    Py_XDECREF(counts);
    return total;
}

static PyObject *logistic_sums(PyObject *module, PyObject *args)
{
    PyObject *rows, *theta;
    Py_ssize_t block, chunk;
    double constants[2] = {0.0, 1.0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOnn|dd", &rows, &theta, &block, &chunk, &constants[0], &constants[1])) return NULL;
    return summed(add_logistic, add_logistic, 1, rows, theta, Py_None, constants, block, chunk);
}

static PyObject *calibrated_sums(PyObject *module, PyObject *args)
{
    PyObject *rows, *theta, *counts;
    Py_ssize_t block, chunk;
    double constants[2] = {0.0, 0.0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOnnd", &rows, &theta, &counts, &block, &chunk, &constants[0])) return NULL;
    if (counts == Py_None) {
        PyErr_SetString(PyExc_ValueError, "counts: must be an array of shape (n,), not None");
        return NULL;
    }
    return summed(add_calibrated, add_narrow_calibrated, FOUR, rows, theta, counts, constants, block, chunk);
}

static PyMethodDef methods[] = {
    {"logistic_sums", logistic_sums, METH_VARARGS,
     "Sums of -z/(1 + exp((z . theta - centre)/width)) over the rows z of every chunk of an (n, d) array, block by block."},
    {"calibrated_sums", calibrated_sums, METH_VARARGS,
     "Sums of the scores of the calibrated loss over the rows z of every chunk, each as often as it counts, block by block."},
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
