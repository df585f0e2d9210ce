import { play, SCENARIOS, type ScenarioName } from './scenarios.ts';

/** Plays one scenario, or all of them, and prints what did not hold as one JSON line each. Exit code 0: all held. */
const names = Object.keys(SCENARIOS) as ScenarioName[];
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !names.includes(name as ScenarioName));
if (unknown.length > 0) {
  console.error(`there is no scenario ${unknown.join(', ')}; there are: ${names.join(', ')}`);
  process.exit(2);
}
let broken = 0;
for (const name of asked.length > 0 ? (asked as ScenarioName[]) : names) {
  const startedAt = Date.now();
  const findings = await play(name);
  broken += findings.length;
  console.log(JSON.stringify({ name, seconds: (Date.now() - startedAt) / 1_000, findings }));
}
// What a scenario waits for may never have happened.
process.exit(broken === 0 ? 0 : 1);
