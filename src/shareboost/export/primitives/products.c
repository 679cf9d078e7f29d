static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i) {
        const float right = (float)x[${prefix}_right[i]];
        const float left = $left;
        SHAREBOOST_COUNT(1);
        ${name}_add($start + i, ($product)$scaled, scores);
    }
}
