import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { contractCases } from './contract.js';
import { hostileIdCases } from './hostile-ids.js';
import { indexCases } from './indexes.js';
import { openCases } from './open.js';
import { orderCases } from './order.js';
import { orderedValueCases } from './ordered-values.js';
import { pagingCases } from './paging.js';
import { peerCases } from './peers.js';
import { raceCases } from './races.js';
import { uniqueCases } from './unique.js';
import { updateCases } from './updates.js';

/** Every promise of the directory store's contract. */
export const directoryStoreCases: readonly ConformanceCase<DirectoryStore>[] = [
  ...openCases,
  ...contractCases,
  ...updateCases,
  ...uniqueCases,
  ...indexCases,
  ...pagingCases,
  ...orderCases,
  ...orderedValueCases,
  ...hostileIdCases,
  ...raceCases,
  ...peerCases,
];
