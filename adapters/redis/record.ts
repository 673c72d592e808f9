/**
 * A stored record is one string: a header that costs little to read in Lua and here, then the unchanged value.
 *
 *     version,end,consumed,account,link=Kind.digest,…
 *     value
 *
 * Instants are in base 36. A link has no slot, because a link has the slot of its record. `0,end` is the tombstone of a removed record.
 */
import type { Artifact, ArtifactKey, Put } from '../../lib/store/artifact-store.js';

/** Characters that separate the parts of a header, and of the texts in a header. */
const mark = /[%,=\n]/;
const marks = /[%,=\n]/g;
const quoted = /%(..)/g;

export const quote = (text: string): string =>
  mark.test(text) ? text.replaceAll(marks, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`) : text;

const unquote = (text: string): string =>
  text.includes('%') ? text.replaceAll(quoted, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))) : text;

/** Returns a record without its version, which only the server knows. */
export function bodyOf({ key, value, expiresAt, consumedAt, account, links }: Put): string {
  const consumed = consumedAt === undefined ? '' : consumedAt.toString(36);
  return `${expiresAt.toString(36)},${consumed},${account === undefined ? '' : quote(account)},${linksOf(key, links)}\n${value}`;
}

export const tombstoneBody = (until: number): string => until.toString(36);

export const isTombstone = (text: string): boolean => text.startsWith('0,');

/** @returns undefined for a record that has expired or was removed. */
export function decode(key: ArtifactKey, text: string, now: number): Artifact | undefined {
  const version = text.indexOf(',');
  const end = text.indexOf(',', version + 1);
  if (isTombstone(text)) return undefined;
  const expiresAt = Number.parseInt(text.slice(version + 1, end), 36);
  if (!(expiresAt > now)) return undefined;
  const consumed = text.indexOf(',', end + 1);
  const account = text.indexOf(',', consumed + 1);
  const header = text.indexOf('\n', account + 1);
  const artifact: { -readonly [Field in keyof Artifact]: Artifact[Field] } = {
    key,
    value: text.slice(header + 1),
    version: Number(text.slice(0, version)),
    expiresAt,
  };
  if (consumed > end + 1) artifact.consumedAt = Number.parseInt(text.slice(end + 1, consumed), 36);
  if (account > consumed + 1) artifact.account = unquote(text.slice(consumed + 1, account));
  if (header > account + 1) artifact.links = readLinks(key, text, account + 1, header);
  return artifact;
}

function linksOf(key: ArtifactKey, links: Put['links']): string {
  if (links === undefined) return '';
  const slot = slotTag(key);
  let text = '';
  for (const name of Object.keys(links)) {
    const link = links[name] as ArtifactKey;
    const tag = link.indexOf(slot);
    if (tag < 1) throw new TypeError(`The link '${name}' leaves the slot of its record. Link records of one slot.`);
    text += `${text === '' ? '' : ','}${quote(name)}=${link.slice(0, tag)}.${link.slice(tag + slot.length)}`;
  }
  return text;
}

function readLinks(key: ArtifactKey, text: string, start: number, end: number): Record<string, ArtifactKey> {
  const slot = slotTag(key);
  const links: [string, ArtifactKey][] = [];
  for (let position = start; position < end; ) {
    const kind = text.indexOf('=', position) + 1;
    const digest = text.indexOf('.', kind) + 1;
    const next = text.indexOf(',', digest);
    const stop = next < 0 || next > end ? end : next;
    const target = text.slice(kind, digest - 1) + slot + text.slice(digest, stop);
    links.push([unquote(text.slice(position, kind - 1)), target as ArtifactKey]);
    position = stop + 1;
  }
  return Object.fromEntries(links);
}

/** Returns the slot with its braces. */
const slotTag = (key: ArtifactKey): string => key.slice(key.indexOf('{'), key.indexOf('}') + 1);
