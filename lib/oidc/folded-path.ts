/** A path as oidc-provider's router compares it: it folds case and takes one trailing slash. */
export const foldedPath = (path: string): string => path.toLowerCase().replace(/\/$/, '');
