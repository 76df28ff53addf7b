// Keyphrases in the forms that other programs take, and the row of buttons that hands them out.

import { announce, el } from "./dom.js";

const PHRASES = (result) => [...result.present, ...result.absent].map((found) => found.phrase);

export function toPlainText(results) {
  if (results.length === 1) return PHRASES(results[0]).join("\n") + "\n";
  return results.map((result) => `${result.id}\t${PHRASES(result).join("; ")}\n`).join("");
}

export function toJson(results) {
  return results.map((result) => JSON.stringify(result) + "\n").join("");
}

// The columns of `erukg generate --format csv`.
export function toCsv(results) {
  const rows = [["id", "kind", "rank", "phrase", "score", "confidence", "variants", "spans", "sources", "titles"]];
  for (const result of results)
    for (const kind of ["present", "absent"])
      result[kind].forEach((found, i) => {
        const spans = (found.spans ?? []).map((span) => span.join("-")).join(" ");
        const sources = (found.sources ?? []).map((s) => `${s.id}=${Number(s.share.toPrecision(6))}`).join(" ");
        const titles = (found.sources ?? []).map((s) => s.title).filter(Boolean).join("; ");
        const variants = (found.variants ?? []).join("; ");
        const cells = [found.phrase, found.score, found.confidence ?? "", variants, spans, sources, titles];
        rows.push([result.id ?? "", kind, i + 1, ...cells]);
      });
  return rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

function csvCell(value) {
  if (typeof value === "number") return String(value);
  // A spreadsheet would run a cell that starts like this as a formula.
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const TEX = { "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };

export function toBibtex(results) {
  const escape = (text) => text.replace(/[\\{}~^]|[&%$#_]/g, (c) => TEX[c] ?? `\\${c}`);
  return results
    .map((result) => {
      const comment = results.length > 1 ? `% ${String(result.id).replace(/\s+/g, " ")}\n` : "";
      return `${comment}keywords = {${PHRASES(result).map(escape).join(", ")}},\n`;
    })
    .join("");
}

const EXPORT_FORMS = {
  text: { label: "Text", suffix: "txt", type: "text/plain", write: toPlainText },
  json: { label: "JSON", suffix: "jsonl", type: "application/x-ndjson", write: toJson },
  csv: { label: "CSV", suffix: "csv", type: "text/csv", write: toCsv },
  bibtex: { label: "BibTeX keywords", suffix: "bib", type: "application/x-bibtex", write: toBibtex },
};

// `results` is called when a button is pressed, and gives none while they are awaited; `name` says what the file is
// called; `more` are buttons [label, title, action], where the action gives what to say.
export function exportRow(place, results, name, more = []) {
  const select = el(
    "select",
    { "aria-label": "Form" },
    ...Object.entries(EXPORT_FORMS).map(([key, form]) => el("option", { value: key }, form.label)),
  );
  const say = el("span", { class: "said", "aria-hidden": "true" });
  const done = (message) => {
    say.textContent = message;
    announce(message);
    setTimeout(() => (say.textContent = ""), 4000);
  };
  const form = () => EXPORT_FORMS[select.value];
  const waiting = () => results().length === 0 && (done("Still working."), true);
  const copy = async () => {
    if (waiting()) return;
    const copied = await copyText(form().write(results()));
    done(copied ? "Copied." : "The browser does not allow copying; download instead.");
  };
  const download = () => {
    if (waiting()) return;
    const blob = new Blob([form().write(results())], { type: `${form().type};charset=utf-8` });
    const link = el("a", { href: URL.createObjectURL(blob), download: `${name()}.${form().suffix}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    done("Downloaded.");
  };
  place.replaceChildren(
    select,
    el("button", { type: "button", on: { click: copy } }, "Copy"),
    el("button", { type: "button", on: { click: download } }, "Download"),
    ...more.map(([label, title, action]) => {
      const click = async () => done(await action());
      return el("button", { type: "button", title, "aria-label": title, on: { click } }, label);
    }),
    say,
  );
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages that came neither from this machine nor over HTTPS have no clipboard; the old way still works there.
    const area = el("textarea", { class: "sr-only", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}
