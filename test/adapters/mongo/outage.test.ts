/** Issue 5: calls while MongoDB cannot be reached, and afterwards. */
import { afterAll } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { mongoArtifacts, mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import { withMongo } from '../../support/stores/mongo.js';
import { testOutage } from '../outage.js';

withMongo('MONGODB_URL', (mongo) => {
  const prefix = mongo.prefix();
  const clients: MongoClient[] = [];
  afterAll(async () => {
    for (const client of clients) await client.close();
  });
  testOutage({
    server: 'MongoDB',
    url: mongo.url,
    connect(at = new URL(mongo.url).host) {
      const client = new MongoClient(mongo.url.replace(new URL(mongo.url).host, at), mongoOptions);
      clients.push(client);
      const db = client.db(mongo.database);
      return { artifacts: mongoArtifacts({ db, prefix }), directory: mongoDirectory({ db, prefix }) };
    },
    everything: () =>
      Promise.all(
        ['artifacts', 'counters', 'leases', 'rows'].map((name) =>
          mongo.db
            .collection(prefix + name)
            .find({}, { sort: { _id: 1 } })
            .toArray(),
        ),
      ),
    hasWholeCommits: false,
  });
});
