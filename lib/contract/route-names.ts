/**
 * Returns the name of a route. A name has only one owner. Paths that differ only in names of parameters are the same path. @param parameter finds the
 * parameters of a path
 */
export const routeName = (method: string, path: string, parameter: RegExp): string => `${method} ${path.replace(parameter, '{}')}`;
