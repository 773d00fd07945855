// Questions to the server. Every answer is JSON; a mistake is an Error whose message is the server's sentence.

async function answer(response) {
  let content;
  try {
    content = await response.json();
  } catch {
    throw new Error(`the server gave no answer (${response.status}); is it still running?`);
  }
  if (!response.ok) throw new Error(content.error ?? `the server refused (${response.status})`);
  return content;
}

function reached(error) {
  if (error.name === "AbortError") throw error;
  throw new Error("the server cannot be reached; is it still running?");
}

/** A query as text; lists are repeated names, and what is empty is left out. */
export function query(said) {
  const pairs = Object.entries(said ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).filter((each) => each !== undefined && each !== null && each !== "").map((each) => [name, each]));
  const text = new URLSearchParams(pairs).toString();
  return text ? `?${text}` : "";
}

/** Ask: get("/api/run", {run: "demo/leduc"}). */
export async function get(path, said, {signal} = {}) {
  return answer(await fetch(path + query(said), {signal, credentials: "same-origin"}).catch(reached));
}

/** Tell: post("/api/run/stop", {run: "demo/leduc"}). */
export async function post(path, said, {signal} = {}) {
  const options = {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(said), signal, credentials: "same-origin"};
  return answer(await fetch(path, options).catch(reached));
}

/** Send a file. */
export async function send(path, said, file) {
  const options = {method: "POST", headers: {"content-type": "application/octet-stream"}, body: file, credentials: "same-origin"};
  return answer(await fetch(path + query(said), options).catch(reached));
}

/** Listen: onNews gets each object that the server sends; returns what ends it. */
export function listen(path, said, onNews) {
  const source = new EventSource(path + query(said));
  source.onmessage = (event) => onNews(JSON.parse(event.data));
  return () => source.close();
}
