static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i)
        ${name}_add($start + i, ((float)x[${prefix}_columns[i]]$less)$scaled, scores);
}
