// Verifies an export of the audit log: node verify.mjs EXPORT PUBLIC_KEY
// Written from docs/reference/audit-log.md alone; shares no code with countersign.
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

const [file, publicKey] = process.argv.slice(2);
const sha = (...parts) => parts.reduce((h, part) => h.update(part), createHash("sha256")).digest();
const leaf = (entry) => sha(Buffer.of(0), entry);
const node = (left, right) => sha(Buffer.of(1), left, right);
const fail = (message) => {
  console.log(message);
  process.exit(1);
};

const [, name, encoded] = /^([^+]+)\+[0-9a-f]{8}\+(.+)$/.exec(publicKey) ?? [];
if (name === undefined) fail("usage: node verify.mjs EXPORT PUBLIC_KEY");
const raw = Buffer.from(encoded, "base64").subarray(1);
const jwk = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
const key = createPublicKey({ key: jwk, format: "jwk" });

const [first, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
const head = JSON.parse(first);
if (head.log !== name) fail(`this is the log ${head.log}`);
let [size, covered] = [head.from, -1];
const subtrees = head.subtrees.map((hash) => Buffer.from(hash, "base64"));

for (const line of lines) {
  if (line.startsWith('{"position":')) {
    if (JSON.parse(line).position !== size) fail(`entry ${size} is not in its place`);
    let hash = leaf(line.slice(line.indexOf('"entry":') + 8, -1));
    for (let n = size; n % 2 === 1; n = (n - 1) / 2) hash = node(subtrees.pop(), hash);
    subtrees.push(hash);
    size++;
    continue;
  }
  const [text, signature] = JSON.parse(line).checkpoint.split("\n\n");
  const [origin, count, root] = text.split("\n");
  const signed = Buffer.from(signature.trim().split(" ").at(-1), "base64").subarray(4);
  if (origin !== name || !verify(null, `${text}\n`, key, signed)) fail("a signature is wrong");
  const computed =
    subtrees.length === 0 ? sha() : subtrees.reduceRight((right, left) => node(left, right));
  if (Number(count) !== size || computed.toString("base64") !== root) {
    fail(`an entry before ${size} is not what was sealed`);
  }
  covered = size;
}
if (covered !== size) fail("the end is missing");
console.log(`entries ${head.from} to ${size - 1} verified`);
