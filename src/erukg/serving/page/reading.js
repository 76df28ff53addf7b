// From dropped files to documents: JSON Lines are read here, a line at a time; other files by the service.

import { isStopped, readFile } from "./api.js";
import { firstLine } from "./text.js";

const MOST_DOCUMENTS = 2000;
const LONGEST_LINE = 2_000_000;
const JSONL = /\.(jsonl|ndjson)$/i;
const SINGLE = /\.(txt|text|md|markdown|pdf|html?|docx|odt|pptx|epub)$/i;

export const looksLikeCorpus = (files) => files.length > 1 || files.some(({ file }) => JSONL.test(file.name));

// All files of a drop, looking into folders: [{file, path}], sorted by path.
export async function filesOfDrop(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const out = [];
  if (entries.length === 0) for (const file of transfer.files) out.push({ file, path: file.name });
  for (const entry of entries) await gatherEntry(entry, out);
  return out.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function filesOfInput(input) {
  const seen = [...input.files].filter((file) => !file.name.startsWith("."));
  const out = seen.map((file) => ({ file, path: file.webkitRelativePath || file.name }));
  return out.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function gatherEntry(entry, out) {
  if (entry.name.startsWith(".") || out.length >= MOST_DOCUMENTS) return;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    out.push({ file, path: entry.fullPath.replace(/^\//, "") });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const child of some) await gatherEntry(child, out);
  }
}

// Documents {id, title, text, year}, one at a time; `problem(place, message)` for each that cannot be read.
export async function* documentsOf(files, { signal, problem }) {
  let count = 0;
  for (const { file, path } of files) {
    const source = JSONL.test(file.name) ? jsonLines(file, path, problem) : oneFile(file, path, problem, signal);
    for await (const document_ of source) {
      if (signal.aborted) return;
      if (count === MOST_DOCUMENTS) {
        problem("The rest", `Only the first ${MOST_DOCUMENTS.toLocaleString("en")} documents are shown.`);
        return;
      }
      count += 1;
      yield document_;
    }
  }
}

async function* oneFile(file, path, problem, signal) {
  if (!SINGLE.test(file.name)) {
    problem(path, "It is no .jsonl, .txt, .md, .pdf, .html, .docx, .odt, .pptx or .epub.");
    return;
  }
  try {
    const text = await readFile(file, { signal });
    if (text.trim()) yield { id: path, title: firstLine(text), text, year: null };
    else problem(path, "There is no text in it.");
  } catch (error) {
    if (isStopped(error)) return;
    problem(path, error.message);
  }
}

async function* jsonLines(file, path, problem) {
  let number = 0;
  for await (const line of linesOf(file)) {
    number += 1;
    if (line === null) problem(`${path}:${number}`, "The line is too long.");
    else if (line.trim()) {
      const found = fromLine(line, `${path}:${number}`);
      if (typeof found === "string") problem(`${path}:${number}`, found);
      else yield found;
    }
  }
}

// The lines of a file; null for one that is too long to be kept.
async function* linesOf(file) {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let skipping = false;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        yield skipping ? null : line;
        skipping = false;
      }
      if (rest.length > LONGEST_LINE) {
        skipping = true;
        rest = "";
      }
    }
  } finally {
    await reader.cancel();
  }
  if (skipping) yield null;
  else if (rest) yield rest;
}

// A document from a line of JSON, or what is wrong with it.
function fromLine(line, place) {
  let row;
  try {
    row = JSON.parse(line);
  } catch {
    return "It is not JSON.";
  }
  if (row === null || typeof row !== "object" || Array.isArray(row)) return "It is not a JSON object.";
  const parts = ["title", "abstract", "text"].map((name) => row[name] ?? "");
  if (parts.some((value) => typeof value !== "string")) return "Its title, abstract and text must be strings.";
  const text = parts.filter(Boolean).join("\n");
  if (!text.trim()) return "It has no title, abstract or text.";
  const id = row.id ?? row._id;
  return {
    id: typeof id === "string" || typeof id === "number" ? String(id) : place,
    title: parts[0] || firstLine(text),
    text,
    year: yearOf(row),
  };
}

// The year of a row: its year, or the year in its date; null when it has neither.
export function yearOf(row) {
  for (const name of ["year", "date", "published"]) {
    const found = /^\s*([12]\d{3})(?!\d)/.exec(String(row[name] ?? ""));
    if (found) return Number(found[1]);
  }
  return null;
}
