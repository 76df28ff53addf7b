// The state of the page in its address, after the "#", which browsers do not send to the service:
// #document?text=…&length_penalty=-5, or doc=… for a text too long for a link, which the browser keeps.

const LONGEST_LINK = 4000;

const VIEWS = ["document", "corpus"];

// {view, params} of the address.
export function readAddress() {
  const [view, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  return { view: VIEWS.includes(view) ? view : "document", params: new URLSearchParams(query) };
}

// Put `params` (an object; what is empty is left out) into the address; `push` makes it a new step for "Back".
export function writeAddress(view, params, push = false) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const hash = query ? `#${view}?${query}` : `#${view}`;
  if (hash === location.hash) return;
  try {
    history[push ? "pushState" : "replaceState"](null, "", hash);
  } catch {
    // Some browsers refuse when a slider is moved for long; the next change says it.
  }
}

// Whether a text is short enough for a link.
export const fitsLink = (text) =>
  text.length <= LONGEST_LINK && new URLSearchParams({ text }).toString().length <= LONGEST_LINK;
