"""For people with a table or an experiment: commands, files and a page in the browser."""
