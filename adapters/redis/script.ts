import { hash } from 'node:crypto';

/** A Lua script, and the name under which servers keep it. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

export const defineScript = (lua: string): Script => ({ lua, sha: hash('sha1', lua) });
