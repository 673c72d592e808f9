/** Records of impersonations without a sign-in, for tests of lists and of the permissions to read and end impersonations. */
import type { Extension, ExtensionContext } from 'tenant-idp/extension';
import { type Impersonation, type ImpersonationRow, impersonations } from '../../../extensions/impersonation/records.js';

export interface KeptImpersonations {
  /** Extension for the options of the service. */
  readonly extension: Extension;
  insert(tid: string, members?: Partial<Impersonation>): Promise<ImpersonationRow>;
}

export function keepImpersonations(): KeptImpersonations {
  let context: ExtensionContext | undefined;
  return {
    extension: {
      name: 'keeps-impersonations',
      start(given) {
        context = given;
      },
    },
    async insert(tid, members = {}) {
      if (!context) throw new Error('The service has not started.');
      const startedAt = members.startedAt ?? new Date();
      const row: Impersonation = {
        targetOid: 'target',
        targetPersonId: 'person of the target',
        operator: { oid: 'operator', sub: 'operator', tid },
        operatorPersonId: 'person of the operator',
        reason: 'ticket 4711',
        clientId: 'web',
        startedAt,
        endsAt: new Date(startedAt.getTime() + 1_800_000),
        ...members,
      };
      return context.records.collection(impersonations, tid).insert(row);
    },
  };
}
