export { loadSkill, loadSkillTool, type Skill } from './skill.ts';
