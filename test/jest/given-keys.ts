/** Gives the processes that tests start their RSA keys: `servers/setup.ts` has Node import it. */
import { giveKeys, KEYS } from './rsa-keys.js';

/** More keys than a process needs, so that those that run at once have others. */
const KEYS_OF_ONE = 8;

// The first half is for the tests themselves.
giveKeys(KEYS / 2 + ((process.pid * KEYS_OF_ONE) % (KEYS / 2)));
