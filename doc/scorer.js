// Pages whose title has all the words that were typed come first, members of classes come last.
const typed = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase();
const stems = typed.split(/\W+/).filter(Boolean).map((word) => word.replace(/(s|ing|ed|e)$/, ""));

var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    if (docname.startsWith("api/")) return anchor ? score - 20 : score - 5;
    const words = title.toLowerCase().split(/\W+/);
    const named = stems.every((stem) => words.some((word) => word.startsWith(stem)));
    return named && stems.length ? score + 20 : score;
  },
  // Those of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
