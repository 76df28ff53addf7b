// What the document view shows now. `result` belongs to `text`, also while the next answer is awaited. Its lists are
// `present` and `absent`, or `concept` and `term`; `marks` are what is marked in the text, each with its list and its
// place in it; `rated` says how sure the phrases of each list are. `wanted` is a phrase to choose when it is there.

export const sheet = {
  id: null,
  text: "",
  example: false,
  result: null,
  rated: {},
  marks: [],
  alpha: 1,
  beta: 1,
  factors: {},
  bands: {},
  baseline: null,
  own: false,
  collection: null, // whether the service has one; not known in a report
  chosen: null,
  wanted: null,
};
