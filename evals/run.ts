import { technovaAgent } from '../examples/technova/agent/agent.ts';
import type { Agent } from '../src/config/index.ts';
import type { Model } from '../src/loop/index.ts';
import { loadSkill } from '../src/skills/index.ts';
import type { EvalCase } from './case.ts';
import { findingsOf, type Findings } from './findings.ts';
import { playCase } from './host.ts';
import { judge, type Failure } from './judge.ts';

/** What is put to the test: who decides, and by which text of the skill. */
export type Subject = {
  /** Names the run in tables and comparisons. */
  label: string;
  model: Model;
  /** A SKILL.md in place of the example's own. */
  skillFile?: string;
};

export type CaseResult = {
  id: string;
  ok: boolean;
  failures: Failure[];
  findings: Findings;
};

export type RunReport = {
  label: string;
  /** Version of each skill, by name. */
  skills: Record<string, string>;
  cases: CaseResult[];
};

/** Plays the cases one after the other, each with a shop, a clock and a store of its own. */
export async function runCases(cases: readonly EvalCase[], subject: Subject): Promise<RunReport> {
  const results: CaseResult[] = [];
  for (const one of cases) {
    const played = await playCase(one, (shopUrl) => agentFor(subject, shopUrl));
    const findings = findingsOf(played);
    const failures = judge(one, findings, played);
    results.push({ id: one.id, ok: failures.length === 0, failures, findings });
  }
  const { skills } = agentFor(subject, NOWHERE);
  return {
    label: subject.label,
    skills: Object.fromEntries(skills.map(({ name, version }) => [name, version])),
    cases: results,
  };
}

/** Nothing is delivered: what would be stands in the store. */
const NOWHERE = 'http://127.0.0.1:9';

export function agentFor({ model, skillFile }: Subject, orderServiceUrl: string): Agent {
  const agent = technovaAgent({ orderServiceUrl, ticketDeskUrl: NOWHERE, model });
  if (skillFile === undefined) return agent;
  const other = loadSkill(skillFile);
  const skills = agent.skills.map((skill) =>
    skill.name === other.name ? { ...skill, ...other } : skill,
  );
  const shown = skills.map(({ name, description }) => ({ name, description }));
  return { ...agent, skills, rules: { ...agent.rules, skills: shown } };
}
