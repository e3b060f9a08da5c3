"""The group of rows with the highest average, found by several methods and judged by new rows."""
