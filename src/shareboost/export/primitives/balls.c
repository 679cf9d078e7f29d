//@ distance
// Four sums round less than one: scores stay within 1e-5 of those of Python.
/* The squared distance from a centre. */
static inline $real ${prefix}_distance$suffix(const float *z, int i)
{
    $real sums[4] = {0, 0, 0, 0};
    int j;
    for (j = 0; j < $p; ++j) {
        const $real apart = $apart;
        sums[j & 3] += apart * apart;
    }
    SHAREBOOST_COUNT($p);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

//@ edge
// At the edge of a ball rounding must not decide: there the distance is taken in double.
        if (distance < ${prefix}_radii[i] * 1.00001f && distance > ${prefix}_radii[i] * .99999f
                && !(${prefix}_distance_exact(z, i) < (double)${prefix}_radii[i]))
            continue;

//@ balls
// The last value of a piece is 1, or the depth in the ball; those before it are coordinates.
static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    float z[$p];
    int i, j;
    for (j = 0; j < $p; ++j)
        z[j] = ((float)x[j] - ${prefix}_mean[j]) * $inverse;
    SHAREBOOST_COUNT($p);
    for (i = first; i < last; ++i) {
        const int column = $start + i * ($p + 1);
        const float distance = ${prefix}_distance(z, i);
        float depth;$edge
        if (!(distance < ${prefix}_radii[i]$widened))
            continue;
        depth = $depth;
        for (j = 0; j < $p; ++j)
            ${name}_add(column + j, depth * $value, scores);
        SHAREBOOST_COUNT($p);
        ${name}_add(column + $p, depth, scores);
    }
}
