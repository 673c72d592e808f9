/**
 * Returns the name of a route, which only one owner may have. Paths that differ only in names of parameters are the same path. @param parameter finds the
 * parameters of a path
 */
export const routeName = (method: string, path: string, parameter: RegExp): string => `${method} ${path.replace(parameter, '{}')}`;
