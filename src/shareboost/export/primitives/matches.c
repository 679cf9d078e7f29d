//@ list
/* The pixels that are not zero at each place of a row of places. */
static inline void ${prefix}_list(const $input *x, int y, $entry lists[$across][$listed])
{
    int n[$across];
    int row, column, channel, place;
    for (place = 0; place < $across; ++place)
        n[place] = 0;
    for (row = 0; row < $rows; ++row)
        for (column = 0; column < $width; ++column)
            for (channel = 0; channel < $channels; ++channel)
                if (x[((y + row) * $width + column) * $channels + channel] != 0) {
                    const int last = column < $across ? column : $across - 1;
                    for (place = column < $columns ? 0 : column - $columns + 1; place <= last;
                         ++place)
                        lists[place][n[place]++] =
                            ($entry)((row * $columns + column - place) * $channels + channel);
                }
    for (place = 0; place < $across; ++place)
        for (row = 0; row < $marks; ++row)
            lists[place][n[place] + row] = $taps;
}

//@ respond
/* The responses of a block of templates at one place. */
static inline void ${prefix}_respond(const $input *at, const $entry *list, int block, float *out)
{
    const $tap (*taps)[$lanes] = ${prefix}_taps + block * $taps;
    int j;
    for (j = 0; j < $lanes; ++j)
        out[j] = 0.0f;
    for (; list[3] != $taps; list += 4) {
        const $tap *a = taps[list[0]], *b = taps[list[1]], *c = taps[list[2]], *d = taps[list[3]];
        const float pa = $pixel_a, pb = $pixel_b;
        const float pc = $pixel_c, pd = $pixel_d;
        for (j = 0; j < $lanes; ++j)
            out[j] += (pa * $a + pb * $b) + (pc * $c + pd * $d);
        SHAREBOOST_COUNT(4 * $lanes);
    }
    for (; *list != $taps; ++list) {
        const $tap *a = taps[list[0]];
        const float pa = $pixel_a;
        for (j = 0; j < $lanes; ++j)
            out[j] += pa * $a;
        SHAREBOOST_COUNT($lanes);
    }
}

//@ more
        for (i = ${prefix}_ends[block][1], j = $lanes; i < ${prefix}_ends[block + 1][1]; ++i, ++j) {
            const float value = ${prefix}_across[${prefix}_more[i][1]][place]
                * response[${prefix}_more[i][0]];
            largest[j] = value > largest[j] ? value : largest[j];
            SHAREBOOST_COUNT(1);
        }

//@ row
/* Raises the values of a block's features to what they find in a row of places. */
static inline void ${prefix}_row(
    const $input *x, int y, int block, $entry lists[$across][$listed]$open, float *best)
{
    const int begin = ${prefix}_box[block][2], end = ${prefix}_box[block][3];
    float response[$lanes], largest[$tracks];
    int blank = end - begin < $across;
    int place, i, j;
    for (place = begin; place < end; ++place)
        blank |= lists[place][0] == $taps;
    for (j = 0; j < $tracks; ++j)
        largest[j] = blank ? 0.0f : -FLT_MAX;
    for (place = begin; place < end; ++place) {
        if (lists[place][0] == $taps$closed)
            continue;
        ${prefix}_respond(x + (y * $width + place) * $channels, lists[place], block, response);
        for (i = ${prefix}_ends[block][0], j = 0; i < ${prefix}_ends[block + 1][0]; ++i) {
            const float mask = ${prefix}_across[${prefix}_runs[i][1]][place];
            const int stop = ${prefix}_runs[i][0];
            SHAREBOOST_COUNT(stop - j);
            for (; j < stop; ++j) {
                const float value = mask * response[j];
                largest[j] = value > largest[j] ? value : largest[j];
            }
        }$more
    }
    for (i = ${prefix}_ends[block][2]; i < ${prefix}_ends[block + 1][2]; ++i) {
        const float value = ${prefix}_down[${prefix}_features[i][1]][y]
            * largest[${prefix}_features[i][0]];
        best[i] = value > best[i] ? value : best[i];
        SHAREBOOST_COUNT(1);
    }
}

//@ matches
static inline void $prefix(const $input *x, float *scores)
{
    $entry lists[$across][$listed];
    float best[$n];
    int y, block, i;
    for (block = 0; block < $blocks; ++block)
        for (i = ${prefix}_ends[block][2]; i < ${prefix}_ends[block + 1][2]; ++i)
            best[i] = ${prefix}_box[block][1] - ${prefix}_box[block][0] < $down ? 0.0f : -FLT_MAX;
    for (y = 0; y < $down; ++y) {
        ${prefix}_list(x, y, lists);
        for (block = 0; block < $blocks; ++block)
            if (y >= ${prefix}_box[block][0] && y < ${prefix}_box[block][1])
                ${prefix}_row(x, y, block, lists$all_open, best);
    }
    for (i = 0; i < $n; ++i)
        ${name}_add($start + i, best[i]$scaled, scores);
}
