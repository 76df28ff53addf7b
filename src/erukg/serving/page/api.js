// Calls to the service. Addresses are relative, so that the page also works behind a path of a proxy.

import { joinLines } from "./text.js";

const MOST_TRIES = 4;
const LONGEST_WAIT = 20;
const KEY = "erukg-key";

export class ServiceError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

// The key of a service that asks for one, until the tab is closed.
let apiKey = null;
try {
  apiKey = sessionStorage.getItem(KEY);
} catch {
  // Storage is off.
}

export function rememberKey(key) {
  apiKey = key;
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // Until the page is loaded again, then.
  }
}

function headers(type) {
  const out = type ? { "Content-Type": type } : {};
  if (apiKey) out.Authorization = `Bearer ${apiKey}`;
  return out;
}

// The JSON that the service answers. When it is busy it is asked again after the time it names; `waiting` is told.
export async function call(path, { body, type, signal, waiting } = {}) {
  for (let tries = 1; ; tries += 1) {
    const response = await request(path, body, type, signal);
    if (response.ok) return response.json();
    if (response.status === 429 && tries < MOST_TRIES) {
      const seconds = Math.min(Math.max(Number(response.headers.get("Retry-After")) || 1, 0.2), LONGEST_WAIT);
      waiting?.(seconds);
      await pause(seconds, signal);
      continue;
    }
    throw new ServiceError(await reason(response), response.status);
  }
}

async function request(path, body, type, signal) {
  const raw = body instanceof Blob;
  const options = { signal, cache: "no-store" };
  if (body === undefined) options.headers = headers(null);
  else {
    options.method = "POST";
    options.headers = headers(raw ? type : "application/json");
    options.body = raw ? body : JSON.stringify(body);
  }
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError("The service does not answer. See whether it is still running, then try again.");
  }
}

async function reason(response) {
  try {
    const { detail, error } = await response.json();
    if (typeof detail === "string") return detail;
    if (typeof error === "string") return error;
  } catch {
    // A proxy in between answers in its own way.
  }
  return `The service answered with an error (${response.status}).`;
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("Stopped.", "AbortError"));
    });
  });
}

// Calls of which only the latest counts: a new one stops the one under way.
export function latestOnly() {
  let controller = null;
  return {
    stop: () => controller?.abort(),
    call: (path, options) => {
      controller?.abort();
      controller = new AbortController();
      return call(path, { ...options, signal: controller.signal });
    },
  };
}

export const isStopped = (error) => error.name === "AbortError";

// The text of a file, read by the service, which tells by its bytes what it is and says what is wrong with it. The lines
// of a PDF are joined to paragraphs.
export async function readFile(file, options = {}) {
  const pdf = /\.pdf$/i.test(file.name) || file.type === "application/pdf";
  const { text } = await call("v1/read", { ...options, body: file, type: "application/octet-stream" });
  return pdf ? joinLines(text) : text;
}
