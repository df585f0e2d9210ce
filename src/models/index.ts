export {
  scriptedModel,
  scriptedSequence,
  UnexpectedModelCallError,
  type ScriptedAnswer,
  type ScriptedModelOptions,
} from './scripted/scripted-model.ts';
