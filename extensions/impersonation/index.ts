/**
 * Acting as somebody else: `impersonate` in `acr_values`, for who holds the permission that the option `impersonation` names. Each impersonation has a row
 * of `records`, which is there before any token is.
 */
import type { Extension } from '../../lib/extension-door.js';
import { createBook } from './book.js';
import { impersonationOperations } from './operations.js';
import { impersonations } from './records.js';

export const impersonation = (): Extension => ({
  name: 'impersonation',
  collections: [impersonations],
  events: ['ImpersonationStarted', 'ImpersonationEnded'],
  resources: (context) => impersonationOperations(context, createBook(context)),
});
