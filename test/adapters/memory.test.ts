import { testArtifactStore, testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';

testArtifactStore('memory', async () => memoryArtifacts());
testDirectoryStore('memory', async () => memoryDirectory());
