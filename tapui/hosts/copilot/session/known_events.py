"""The events of the CLI that are not handed on: any other is one of a newer CLI."""

_TAKEN = """
assistant.idle assistant.message_delta elicitation.completed elicitation.requested
exit_plan_mode.completed exit_plan_mode.requested external_tool.completed permission.completed
permission.requested session.autopilot_objective_changed session.info session.resume
session.shutdown session.start session.todos_changed session.usage_record
tool.execution_partial_result user_input.completed user_input.requested
"""
_LEFT_ASIDE = """
agent.interrupted assistant.fusion_phase_activity assistant.fusion_phase_completed
assistant.fusion_phase_failed assistant.fusion_phase_started assistant.message_start
assistant.reasoning_delta assistant.server_tool_progress assistant.streaming_delta
assistant.tool_call_delta assistant.turn_retry auto_mode_switch.completed
auto_mode_switch.requested command.completed command.execute command.queued hook.progress
hook.start human_response.recorded mcp.headers_refresh_completed mcp.headers_refresh_required
mcp.oauth_completed mcp.oauth_recovery_completed mcp.oauth_required mcp.prompts.list_changed
mcp.resources.list_changed mcp.tools.list_changed mcp_app.tool_call_complete
model.call_final_result model.call_finished model.call_start pending_messages.modified
permission.assentDetected permission.carriedForward permission.contextualAuthorization
permission.messageAuthorization permission.messageAuthorizationDegraded
permission.messageAuthorizationRead prompt_cache_break sampling.completed sampling.requested
sandbox.decision session.auto_mode_resolved session.auto_tier_recommendation
session.auto_tier_switch_failed session.background_tasks_changed session.binary_asset
session.canvas.closed session.canvas.opened session.canvas.recorded session.canvas.registry_changed
session.canvas.removed session.canvas.unavailable session.completion_receipt
session.context_cleared session.custom_notification session.extensions.attachments_pushed
session.extensions_loaded session.fusion_change_checkpoint session.fusion_commit_started
session.fusion_completed session.fusion_handoff session.fusion_resolved session.fusion_route_failed
session.fusion_route_started session.handoff session.indexed_search session.managed_plugin_progress
session.managed_settings_enforced session.managed_settings_resolved
session.mcp_server_needs_reconnect session.mcp_server_removed session.mcp_server_status_changed
session.mcp_server_tools_loaded session.memory_changed session.mode_notice_delivered
session.model_deselected session.permission_recovery session.plan_changed session.quota_observation
session.remote_steerable_changed session.request_body_compression_disabled
session.schedule_cancelled session.schedule_created session.schedule_rearmed
session.session_limits_changed session.skills_loaded session.task_complete session.tools_updated
session.truncation session.usage_checkpoint session.workspace_file_changed
session_limits_exhausted.completed session_limits_exhausted.requested skill.context_delivered
skill.context_delivered_ref skill.invoked skill.invoked_ref subagent.configured subagent.deselected
subagent.selected system.message tool.user_requested tool_search.activated ui.ephemeral_query
workflow.run_settled workflow.run_started workflow.run_updated
"""
TAKEN = frozenset(_TAKEN.split())
"""Events that are taken before they are translated, or that are read where they are stored."""
LEFT_ASIDE = frozenset(_LEFT_ASIDE.split())
"""Events that say nothing to a person beside what other events tell, or that no account has had the
CLI send here (`tapui/hosts/copilot/README.md`)."""
