import type { Artifact, ArtifactKey, ArtifactStore, ReadRequest } from '../../lib/store/artifact-store.js';
import type { Connection } from './connection.js';
import { decode, quote } from './record.js';
import { defineScript } from './script.js';

/** The record and those that its links of these names lead to, in its own slot. */
export const followScript = defineScript(`
-- KEYS: the record. ARGV: the prefix of all keys, then the names of the links.
local record = redis.call('GET', KEYS[1])
if not record then return false end
local header = string.match(record, '^[^\\n]*')
local slot = string.match(KEYS[1], '{[^}]*}')
local answer = { record }
for i = 2, #ARGV do
  local _, name = string.find(header, ',' .. ARGV[i] .. '=', 1, true)
  local kind, digest
  if name then kind, digest = string.match(header, '^([^,]*)%.([^,]*)', name + 1) end
  answer[i] = kind ~= nil and redis.call('GET', ARGV[1] .. kind .. slot .. digest)
end
return answer
`);

type Found = Map<ArtifactKey, Artifact>;

export function createReads(connection: Connection, prefix: string, now: () => number): Pick<ArtifactStore, 'read'> {
  function keep(key: ArtifactKey, text: string | null | undefined, found: Found): Artifact | undefined {
    const artifact = text ? decode(key, text, now()) : undefined;
    if (artifact !== undefined) found.set(key, artifact);
    return artifact;
  }

  // One promise for each step shows in what a request costs.
  const readOne = (key: ArtifactKey, found: Found): Promise<Found> =>
    connection.get(prefix + key).then((text) => {
      keep(key, text, found);
      return found;
    });

  const readLinked = (key: ArtifactKey, follow: readonly string[], found: Found): Promise<Found> =>
    connection.run(followScript, 1, [prefix + key, prefix, ...follow.map(quote)]).then((answer) => {
      const texts = answer as (string | null)[] | null;
      const links = texts && keep(key, texts[0], found)?.links;
      if (!links) return found;
      for (const [index, name] of follow.entries()) {
        if (Object.hasOwn(links, name)) keep(links[name] as ArtifactKey, texts[index + 1], found);
      }
      return found;
    });

  async function readTogether(keys: readonly ArtifactKey[], found: Found): Promise<void> {
    const texts = await connection.mget(keys.map((key) => prefix + key));
    for (const [index, key] of keys.entries()) keep(key, texts[index], found);
  }

  return {
    read(requests) {
      const found: Found = new Map();
      const [first] = requests;
      if (first !== undefined && requests.length === 1)
        return follows(first) ? readLinked(first.key, first.follow, found) : readOne(first.key, found);
      return readAll(requests, found);
    },
  };

  async function readAll(requests: readonly ReadRequest[], found: Found): Promise<Found> {
    const alone = requests.flatMap((request) => (follows(request) ? [] : [request.key]));
    await Promise.all([
      ...requests.filter(follows).map(({ key, follow }) => readLinked(key, follow, found)),
      ...connection.together(alone).map((keys) => readTogether(keys, found)),
    ]);
    return found;
  }
}

const follows = (request: ReadRequest): request is Required<ReadRequest> => request.follow !== undefined && request.follow.length > 0;
