import type { Artifact, ArtifactKey, ArtifactStore, ReadRequest } from '../../lib/store/artifact-store.js';
import type { Connection } from './connection.js';
import { decode, quote } from './record.js';
import { defineScript } from './script.js';

/** Returns the record, and the records of its links with these names, in its own slot. */
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

type ArtifactsByKey = Map<ArtifactKey, Artifact>;

export function createReads(connection: Connection, prefix: string, now: () => number): Pick<ArtifactStore, 'read'> {
  function add(key: ArtifactKey, text: string | null | undefined, artifacts: ArtifactsByKey): Artifact | undefined {
    const artifact = text ? decode(key, text, now()) : undefined;
    if (artifact !== undefined) artifacts.set(key, artifact);
    return artifact;
  }

  // One promise for each step would cost a measurable part of a request.
  const readOne = (key: ArtifactKey, artifacts: ArtifactsByKey): Promise<ArtifactsByKey> =>
    connection.get(prefix + key).then((text) => {
      add(key, text, artifacts);
      return artifacts;
    });

  const readLinked = (key: ArtifactKey, follow: readonly string[], artifacts: ArtifactsByKey): Promise<ArtifactsByKey> =>
    connection.run(followScript, 1, [prefix + key, prefix, ...follow.map(quote)]).then((answer) => {
      const texts = answer as (string | null)[] | null;
      const links = texts && add(key, texts[0], artifacts)?.links;
      if (!links) return artifacts;
      for (const [index, name] of follow.entries()) {
        if (Object.hasOwn(links, name)) add(links[name] as ArtifactKey, texts[index + 1], artifacts);
      }
      return artifacts;
    });

  async function readTogether(keys: readonly ArtifactKey[], artifacts: ArtifactsByKey): Promise<void> {
    const texts = await connection.mget(keys.map((key) => prefix + key));
    for (const [index, key] of keys.entries()) add(key, texts[index], artifacts);
  }

  return {
    read(requests) {
      const artifacts: ArtifactsByKey = new Map();
      const [first] = requests;
      if (first !== undefined && requests.length === 1)
        return follows(first) ? readLinked(first.key, first.follow, artifacts) : readOne(first.key, artifacts);
      return readAll(requests, artifacts);
    },
  };

  async function readAll(requests: readonly ReadRequest[], artifacts: ArtifactsByKey): Promise<ArtifactsByKey> {
    const alone = requests.flatMap((request) => (follows(request) ? [] : [request.key]));
    await Promise.all([
      ...requests.filter(follows).map(({ key, follow }) => readLinked(key, follow, artifacts)),
      ...connection.together(alone).map((keys) => readTogether(keys, artifacts)),
    ]);
    return artifacts;
  }
}

const follows = (request: ReadRequest): request is Required<ReadRequest> => request.follow !== undefined && request.follow.length > 0;
