"""Many functions, many methods: what defaults are chosen on, and what they are judged by."""
