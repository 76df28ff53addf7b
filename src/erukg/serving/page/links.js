// Document ids as links, where it is known where they lead.

const ARXIV = /^(?:arxiv:)?((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?\/\d{7})(?:v\d+)?)$/i;
const DOI = /^(?:doi:|https:\/\/doi\.org\/)?(10\.\d{4,9}\/\S+)$/i;

// {label, href} of a document id; href is null for ids that lead nowhere.
export function sourceLink(id) {
  const arxiv = ARXIV.exec(id);
  if (arxiv) return { label: `arXiv:${arxiv[1]}`, href: `https://arxiv.org/abs/${encodePath(arxiv[1])}` };
  const doi = DOI.exec(id);
  if (doi) return { label: `doi:${doi[1]}`, href: `https://doi.org/${encodePath(doi[1])}` };
  return { label: id, href: null };
}

function encodePath(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}
