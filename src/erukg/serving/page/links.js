// Document ids as links, where it is known where they lead.

const KINDS = [
  [/^(?:arxiv:)?((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?\/\d{7})(?:v\d+)?)$/i, "arXiv", "https://arxiv.org/abs/"],
  [/^(?:doi:|https:\/\/doi\.org\/)?(10\.\d{4,9}\/\S+)$/i, "doi", "https://doi.org/"],
  [/^acl:([A-Za-z0-9][\w.-]+)$/, "acl", "https://aclanthology.org/"],
  [/^pmid:(\d{1,9})$/, "pmid", "https://pubmed.ncbi.nlm.nih.gov/"],
  [/^https:\/\/openalex\.org\/(W\d+)$/, "OpenAlex", "https://openalex.org/"],
];

// {label, href} of a document id; href is null for ids that lead nowhere.
export function sourceLink(id) {
  for (const [pattern, label, site] of KINDS) {
    const found = pattern.exec(id);
    if (found) return { label: `${label}:${found[1]}`, href: site + encodePath(found[1]) };
  }
  return { label: id, href: null };
}

function encodePath(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}
