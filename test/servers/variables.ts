/** Environment variables with the address of a server. A server of several nodes has their URLs, separated by commas. */
export const serverVariables = ['REDIS_URL', 'REDIS_CLUSTER_URLS', 'MONGODB_URL', 'POSTGRES_URL'] as const;
export type ServerVariable = (typeof serverVariables)[number];
