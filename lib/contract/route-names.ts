/** What a route claims: a path with a parameter of another name is the same path. @param parameter finds the parameters of a path */
export const routeName = (method: string, path: string, parameter: RegExp): string => `${method} ${path.replace(parameter, '{}')}`;
