/** Gives RSA keys to the processes that tests start: `servers/setup.ts` makes Node import this file. */
import { giveKeys, KEYS } from './rsa-keys.js';

/** Number of keys, more than one process needs, so that processes that run at the same time have different keys. */
const KEYS_OF_ONE = 8;

// The first half is for the tests themselves.
giveKeys(KEYS / 2 + ((process.pid * KEYS_OF_ONE) % (KEYS / 2)));
