/**
 * Returns the name of a member as a JSON Pointer has it.
 * @see RFC 6901 §3
 * @example
 * ```ts
 * import { IdpError, referenceToken } from 'tenant-idp/extension';
 *
 * export function refuseLabel(name: string): never {
 *   throw new IdpError('invalid_record', { path: `/labels/${referenceToken(name)}`, expected: 'a label of the tenant' });
 * }
 * ```
 */
export const referenceToken = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
