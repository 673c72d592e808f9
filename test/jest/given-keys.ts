/** Gives the processes that tests start their RSA keys: `servers/setup.ts` has Node import it. */
import { giveKeys, KEYS_OF_PROCESSES, rewindKeys } from './rsa-keys.js';

/** More than a process needs, so that those that run at once differ. */
const KEYS_EACH = 8;

giveKeys();
rewindKeys(KEYS_OF_PROCESSES.from + ((process.pid * KEYS_EACH) % KEYS_OF_PROCESSES.count));
