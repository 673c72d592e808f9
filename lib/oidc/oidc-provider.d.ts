/** The one deep import; its package has no types of it. */
declare module 'oidc-provider/lib/actions/end_session.js' {
  export const confirm: readonly ((...args: never[]) => unknown)[];
}
