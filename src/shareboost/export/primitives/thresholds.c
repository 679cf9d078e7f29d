static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i)
        if (x[${prefix}_columns[i]] <= ${prefix}_thresholds[i])
            ${name}_add($start + i, $one, scores);
}
