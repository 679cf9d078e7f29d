//@ head
/* A classifier of $k classes, exported by shareboost.
 *
 *     int ${name}_predict(const $input *x);                  the class, from 0
 *     void ${name}_scores(const $input *x, float *scores);   the score of each of $k classes
 *     const char *${name}_label(int class_index);            the label of a class
 *
 * x holds $n_inputs numbers, in the order of the columns that the model was trained on.
$notes */
#ifndef SHAREBOOST_MODEL_${name}_H
#define SHAREBOOST_MODEL_${name}_H

$includes

/* Define it before this header to count multiply-adds: it is called with their number. */
#ifndef SHAREBOOST_COUNT
#define SHAREBOOST_COUNT(n) ((void)0)
#endif

enum { ${name}_n_inputs = $n_inputs, ${name}_n_classes = $k };

//@ includes
#include <stdint.h>

//@ includes_of_search
#include <float.h>
#include <stdint.h>

//@ includes_of_bounds
#include <float.h>
#include <stdint.h>
#include <string.h>

//@ call
    ${prefix}(x, 0, $n, scores);

//@ call_of_search
    ${prefix}(x, scores);

//@ unread
    (void)x;

//@ add
/* Adds a value times its weights to the scores. */
static inline void ${name}_add(int column, float value, float *scores)
{
    int q;
    for (q = 0; q < $k; ++q)
        scores[q] += value * $weight;
    SHAREBOOST_COUNT($k);
}

//@ best
/* The first of the classes with the highest score. */
static inline int ${name}_best(const float *scores)
{
    int q, best = 0;
    for (q = 1; q < $k; ++q)
        if (scores[q] > scores[best])
            best = q;
    return best;
}

//@ scores
static inline void ${name}_scores(const $input *x, float *scores)
{
    int q;
    for (q = 0; q < $k; ++q)
        scores[q] = ${name}_intercept[q];
$calls
}

//@ predict
static inline int ${name}_predict(const $input *x)
{
    float scores[$k];
    ${name}_scores(x, scores);
    return ${name}_best(scores);
}

//@ label
static inline const char *${name}_label(int class_index)
{
    static const char *const labels[$k] = {
$labels};
    return labels[class_index];
}

#endif
