import { writeFileSync } from 'node:fs';
import { stateMachineDocument } from './state-machine.ts';

writeFileSync(new URL('../docs/state-machine.md', import.meta.url), stateMachineDocument());
