/** Gives the processes that tests start their RSA keys: `servers/setup.ts` has Node import it. */
import { giveKeys } from './rsa-keys.js';

/** More keys than a process needs, so that those that run at once have others. */
const KEYS = 8;

giveKeys(false, process.pid * KEYS);
