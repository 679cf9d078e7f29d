"""How fast shareboost is, beside its peers and beside what the machine can do at all."""
