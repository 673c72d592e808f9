import type { Artifact, ArtifactKey, ArtifactStore, ReadRequest } from '../../lib/store/artifact-store.js';
import { storableText } from '../sql/storable-text.js';
import { type ArtifactRow, arrayText, artifactOf, COLUMNS, IS_LIVE } from './artifact-row.js';
import type { Database } from './database.js';

/** Creates the methods that read. Each read is one statement, and therefore returns all records as they were at one instant. */
export function createReads({ connection, names }: Database): Pick<ArtifactStore, 'read' | 'listByAccount'> {
  const artifacts = names.at('artifacts');
  const readKeys = `select ${COLUMNS} from ${artifacts} a where a.key = any($1::text[]) and ${IS_LIVE}`;
  // With an array of store keys, PostgreSQL uses the index, however many links the planner expects.
  const readLinks = `with found as materialized (select * from ${artifacts} a where a.key = any($1::text[]) and ${IS_LIVE}),
    links as materialized (
      select f.link_keys[array_position(f.link_names, name)] as key
      from unnest($1::text[], $2::text[]) as asked(key, follow) join found f on f.key = asked.key, unnest(asked.follow::text[]) as name
    )
    select ${COLUMNS} from found a
    union all
    select ${COLUMNS} from ${artifacts} a where a.key = any(array(select key from links where key is not null)) and ${IS_LIVE}`;
  const listAccount = `select ${COLUMNS} from ${artifacts} a
    where left(a.account, 64) = left($1::text, 64) and a.account = $1::text and ${IS_LIVE}`;

  return {
    async read(requests) {
      if (requests.length === 0) return new Map();
      const keys = requests.map(({ key }) => key);
      const rows = requests.some(follows)
        ? connection.read<ArtifactRow>(readLinks, [keys, requests.map(({ follow = [] }) => arrayText(follow))])
        : connection.read<ArtifactRow>(readKeys, [keys]);
      return new Map((await rows).map((row): [ArtifactKey, Artifact] => [row.key, artifactOf(row)]));
    },
    async listByAccount(account) {
      return (await connection.read<ArtifactRow>(listAccount, [storableText(account)])).map(artifactOf);
    },
  };
}

const follows = ({ follow }: ReadRequest): boolean => follow !== undefined && follow.length > 0;
