/** Environment variables with the address of a server; of several nodes, their URLs with commas between them. */
export const serverVariables = ['REDIS_URL', 'REDIS_CLUSTER_URLS', 'MONGODB_URL', 'POSTGRES_URL'] as const;
export type ServerVariable = (typeof serverVariables)[number];
